"""What a fleet's repo holds at one moment, for people who look at it: objects of a commit, and what poollets report.

Reads whole commits, for verbs that run once. The reconciler proper follows the repo incrementally and never comes here.
"""

from reconciler.query.inventory.loading import Inventory, Item, inventory, reports

__all__ = ["Inventory", "Item", "inventory", "reports"]
