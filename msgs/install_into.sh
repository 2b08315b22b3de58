#!/bin/sh
# Builds soft_twin_msgs against the ROS 2 wheels of a Python environment and installs it there.
# usage: install_into.sh ENVIRONMENT
set -e
environment=$1
source=$(dirname "$0")
build=$environment/build/soft_twin_msgs
PATH=$environment/bin:$PATH
site_packages=$(python -c 'import os, sys, sysconfig; print(os.path.relpath(sysconfig.get_path("purelib"), sys.prefix))')

rm -rf "$build"
cmake -S "$source" -B "$build" -DCMAKE_INSTALL_PREFIX="$environment" -DCMAKE_PREFIX_PATH="$environment" \
    -DPython3_EXECUTABLE="$environment/bin/python" -DPYTHON_INSTALL_DIR="$site_packages"
cmake --build "$build" --parallel
cmake --install "$build"
