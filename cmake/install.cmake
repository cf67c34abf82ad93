# Install tree: headers, libraries, CMake package, pkg-config file.
