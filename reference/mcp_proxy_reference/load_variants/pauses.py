"""Other pauses between attempts."""

from mcp_proxy_reference.load_variants.load_variant import LoadVariant, load_variant

VARIANTS: tuple[LoadVariant, ...] = (
    load_variant("pauses-alike", "Every pause is as long as the first, for all servers.",
                 "pauses", "R5.grows", "R6.jitter", pause=lambda _, base: base),
)  # fmt: skip
