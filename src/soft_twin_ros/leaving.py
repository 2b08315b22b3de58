"""How a process leaves the graph of ROS."""

import gc
import time

from rclpy.node import Node

NAME = "_leaving"  # names that begin like this are hidden from people
HEARD = 0.2  # [s] in which others hear that a node has gone, busy as they may be


def leave_graph(node: Node) -> None:
    """Destroy a node, and only when others have heard of that take the leave that DDS takes of them.

    With its last node a process ends its participant, too. Others hear of both in two threads, and where the second is
    faster the name of a node that has gone stays in their graph for good (rmw_dds_common adds it again). A hidden node
    keeps the participant for as long as they need.
    """
    hidden = Node(NAME, use_global_arguments=False, start_parameter_services=False, enable_rosout=False)
    node.destroy_node()
    gc.unfreeze()
    gc.collect()  # what was taken apart only: DDS knows of it as long as something holds it
    time.sleep(HEARD)
    hidden.destroy_node()
