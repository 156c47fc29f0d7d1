// Only in the statically linked program. There the compiler's start-up code registers the exception
// tables in a way that makes the first exception sort them all, which takes 3 ms in a program that
// runs for 1 ms; --help, --version and every usage error end in an exception. Unregistered tables
// are found by the sorted index that the linker writes (--eh-frame-hdr). The linker's --wrap calls
// these empty functions instead (see CMakeLists.txt).
extern "C" {
void __wrap___register_frame_info(const void*, void*) {}               // NOLINT
void* __wrap___deregister_frame_info(const void*) { return nullptr; }  // NOLINT
}
