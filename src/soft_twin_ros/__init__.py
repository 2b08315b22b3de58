"""ROS 2 nodes of soft_twin: thin shells that declare parameters, convert messages and call one library object."""
