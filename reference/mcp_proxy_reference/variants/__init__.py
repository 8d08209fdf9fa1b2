"""Acquittals: conforming proxies that look different and must never be accused."""

from mcp_proxy_reference.variants.variant import Fresh, Variant, variant

__all__ = ["Fresh", "Variant", "variant"]
