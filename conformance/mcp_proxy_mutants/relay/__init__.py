"""Package of relays that are like the faithful one but for one thing, wrong or only different."""
