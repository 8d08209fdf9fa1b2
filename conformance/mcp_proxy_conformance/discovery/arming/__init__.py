"""Arming: before any verdict every lock is proven, and every query."""
