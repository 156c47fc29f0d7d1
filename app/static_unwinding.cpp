// Only in the statically linked program. There the compiler's start-up code registers the tables
// for exceptions in a way that has the first exception sort them all, 3 ms of a program that takes
// 1; --help, --version and every usage error end in an exception. Not registered, they are found
// by the sorted index that the linker writes (--eh-frame-hdr). The linker's --wrap calls these
// instead (see CMakeLists.txt).
extern "C" {
void __wrap___register_frame_info(const void*, void*) {}               // NOLINT
void* __wrap___deregister_frame_info(const void*) { return nullptr; }  // NOLINT
}
