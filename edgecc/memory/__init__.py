"""Memory planning: programs in, a MemoryPlan out; plus a placer for anyone's problem.

`edgecc.memory.plan` is the verb. The module of that name, which holds MemoryPlan, is reached by
`from edgecc.memory.plan import MemoryPlan`: the verb must be imported after it, as it is here.
"""

from edgecc.memory.check import check_plan
from edgecc.memory.placement import place
from edgecc.memory.plan import MemoryPlan, Placement
from edgecc.memory.planner import plan
from edgecc.memory.text import to_text

__all__ = ["MemoryPlan", "Placement", "check_plan", "place", "plan", "to_text"]
