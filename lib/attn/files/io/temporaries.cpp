#include "attn/files/io/temporaries.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>

namespace attn {
namespace {

// A signal handler may neither allocate nor lock, so the paths of temporaries are in fixed storage
// and an atomic state shows which ones may be read.
enum SlotState : int { slot_free, slot_claimed, slot_ready };
struct PendingSlot {
    std::atomic<int> state;
    std::atomic<int> folder;
    std::array<char, PATH_MAX> path;
};
static_assert(std::atomic<int>::is_always_lock_free);
constinit std::array<PendingSlot, 32> pending_slots{};

PendingSlot& slot_at(int place) { return pending_slots[static_cast<std::size_t>(place)]; }

// Two passes, because removals may shift entries that were not listed yet.
void remove_files_in(int folder) noexcept {
    alignas(dirent64) std::array<char, 4096> entries;
    for (int pass = 0; pass < 2; ++pass) {
        ::lseek(folder, 0, SEEK_SET);
        auto* const first = reinterpret_cast<dirent64*>(entries.data());
        for (ssize_t size = 0; (size = ::getdents64(folder, first, entries.size())) > 0;) {
            for (ssize_t at = 0; at < size;) {
                const auto* entry = reinterpret_cast<const dirent64*>(entries.data() + at);
                ::unlinkat(folder, entry->d_name, 0);
                at += entry->d_reclen;
            }
        }
    }
}

}  // namespace

Pending::Pending(const std::string& path) {
    if (path.size() >= PATH_MAX) return;
    for (std::size_t i = 0; i < pending_slots.size(); ++i) {
        PendingSlot& slot = pending_slots[i];
        int expected = slot_free;
        if (!slot.state.compare_exchange_strong(expected, slot_claimed)) continue;
        std::memcpy(slot.path.data(), path.c_str(), path.size() + 1);
        slot.folder = -1;
        slot.state = slot_ready;
        place_ = static_cast<int>(i);
        return;
    }
}

Pending::~Pending() {
    if (place_ >= 0) slot_at(place_).state = slot_free;
}

void Pending::is_folder(int descriptor) const { slot_at(place_).folder = descriptor; }

void remove_pending() noexcept {
    const int saved = errno;
    for (PendingSlot& slot : pending_slots) {
        if (slot.state != slot_ready) continue;
        if (slot.folder >= 0) remove_files_in(slot.folder);
        ::unlink(slot.path.data());
    }
    // Remove a folder after its files.
    for (PendingSlot& slot : pending_slots) {
        if (slot.state == slot_ready) ::rmdir(slot.path.data());
    }
    errno = saved;
}

Temporary make_temporary(const std::string& target, const std::function<int(const char*)>& make) {
    static std::atomic<unsigned> counter{0};
    const std::string folder = folder_of(target);
    // A name of the maximal length has no space for a suffix.
    const std::string name = target.substr(folder.size()).substr(0, 200);
    Temporary result{.reason = name.empty() ? ENOENT : EEXIST};
    for (int attempt = 0; attempt < 100 && result.reason == EEXIST; ++attempt) {
        result.path = folder + "." + name + "." + std::to_string(::getpid()) + "-" +
                      std::to_string(counter++) + ".part";
        result.pending = Pending(result.path);
        if (!result.pending) {
            result.reason = result.path.size() >= PATH_MAX ? ENAMETOOLONG : EMFILE;
            break;
        }
        result.descriptor = make(result.path.c_str());
        result.reason = result.descriptor < 0 ? errno : 0;
        if (result.reason != 0) result.pending = {};
    }
    return result;
}

TemporaryFolder::TemporaryFolder(const std::string& target)
    : temporary_file_(make_temporary(target, [](const char* path) {
          if (::mkdir(path, 0777) != 0) return -1;
          const int opened = ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
          if (opened < 0) {
              const int reason = errno;
              ::rmdir(path);
              errno = reason;
          }
          return opened;
      })) {
    if (temporary_file_.descriptor >= 0)
        temporary_file_.pending.is_folder(temporary_file_.descriptor);
}

TemporaryFolder::~TemporaryFolder() {
    if (temporary_file_.pending) {
        remove_files_in(temporary_file_.descriptor);
        // A program that ran in it may have created folders.
        std::error_code ignored;
        if (::rmdir(temporary_file_.path.c_str()) != 0)
            std::filesystem::remove_all(temporary_file_.path, ignored);
    }
    temporary_file_.pending = {};
    if (temporary_file_.descriptor >= 0) ::close(temporary_file_.descriptor);
}

Turn::Turn(const std::string& folder)
    : descriptor_(
          ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (descriptor_ >= 0) ::flock(descriptor_, LOCK_EX);
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
}

Turn::~Turn() {
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    if (descriptor_ >= 0) ::close(descriptor_);
}

std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

}  // namespace attn
