// The program with limited memory: ATTN_FAIL_ALLOCATION=N fails the Nth allocation, N+ that one and
// all after it; the file ATTN_FAILED is created when one has failed. tests/app/starved_test.cpp
// runs it for some N, tests/check_starved.py for every one.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

struct Plan {
    long first = -1;
    bool goes_on = false;
    const char* mark = nullptr;
};

Plan plan_of_environment() {
    const char* text = std::getenv("ATTN_FAIL_ALLOCATION");
    if (text == nullptr) return {};
    char* end = nullptr;
    const long first = std::strtol(text, &end, 10);
    return {first, *end == '+', std::getenv("ATTN_FAILED")};
}

std::atomic<bool> has_begun{false};  // allocations of the libraries before main() do not count

/// Optional allocations are not counted, as the program goes on without them; N+ fails them too.
bool fails(bool is_optional = false) {
    static const Plan plan = plan_of_environment();
    static std::atomic<long> count{0};
    if (plan.first < 0 || !has_begun) return false;
    if (is_optional) return plan.goes_on && count >= plan.first;
    const long number = ++count;
    const bool failing = number == plan.first || (plan.goes_on && number > plan.first);
    if (failing && plan.mark != nullptr) {
        const int result = ::open(plan.mark, O_WRONLY | O_CREAT, 0666);
        if (result >= 0) ::close(result);
    }
    return failing;
}

void* allocated(std::size_t size, std::size_t alignment) {
    if (fails()) throw std::bad_alloc();
    const std::size_t whole = (size + alignment) / alignment * alignment;
    void* const memory = alignment <= alignof(std::max_align_t)
                             ? std::malloc(size + 1)
                             : std::aligned_alloc(alignment, whole);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

}  // namespace

void* operator new(std::size_t size) { return allocated(size, 1); }
void* operator new[](std::size_t size) { return allocated(size, 1); }
// For temporary buffers, which are optional.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return fails(true) ? nullptr : std::malloc(size + 1);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocated(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
    return allocated(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

int program_main(int argc, char** argv);  // app/main.cpp

int main(int argc, char** argv) {
    has_begun = true;
    return program_main(argc, argv);
}
