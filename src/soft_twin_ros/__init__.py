"""ROS 2 nodes of soft_twin: thin shells that declare parameters, convert messages and call one library object."""

import sys

from soft_twin.errors import UsageError
from soft_twin.requirements import check_requirements
from soft_twin_ros.parent import end_with_parent
from soft_twin_ros.ros_packages import check_start

end_with_parent()  # before anything is loaded, which takes seconds

try:
    check_requirements()
    check_start()
except UsageError as error:  # one line for whoever starts a node, not where it is found missing
    print(f"soft_twin: {error}", file=sys.stderr)
    sys.exit(2)
