"""The checks of the robustness profile: what hostile input is answered with."""
