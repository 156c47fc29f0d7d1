#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn {

/// A path that remove_pending() takes away, a file or an empty folder, as long as this is there.
class Pending {
public:
    /// No path.
    Pending() = default;
    /// False where the path is longer than the system allows, or too many are pending.
    explicit Pending(const std::string& path);
    Pending(Pending&& other) noexcept : place_(std::exchange(other.place_, -1)) {}
    Pending& operator=(Pending other) noexcept {
        std::swap(place_, other.place_);
        return *this;
    }
    ~Pending();
    explicit operator bool() const { return place_ >= 0; }

private:
    int place_ = -1;
};

/// Removes the temporaries of all files and folders that were not committed yet. It is
/// async-signal-safe: made to be called by a handler of SIGINT or SIGTERM that ends the program.
void remove_pending() noexcept;

/// A file that appears whole or not at all: what is written goes to a temporary beside the target,
/// and commit() renames it. Without commit() the destructor removes the temporary.
///
/// A target that exists keeps its permissions; a symbolic link stays and what it points to is
/// replaced. What is no regular file (a device, a pipe, `/dev/stdout`, `/dev/fd/3`) cannot be
/// replaced and is written straight.
///
/// Errors  OutputError naming the path and the system's reason, from every function.
class OutputFile {
public:
    explicit OutputFile(std::string path);
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    /// Appends `bytes`. Small pieces are gathered; a large one is handed to the system as it lies
    /// in memory.
    void write(std::string_view bytes);

    /// Makes the file complete and visible under its name. Nothing may be written afterwards.
    void commit();

    const std::string& path() const { return path_; }

private:
    [[noreturn]] void fail(const std::string& action, int reason) const;
    void open_temporary();
    void send(std::string_view bytes);
    void reserve(std::size_t more);

    std::string path_;       // as the caller said it, for messages
    std::string target_;     // with all symbolic links resolved
    std::string temporary_;  // empty when the target is written straight
    std::string gathered_;
    std::size_t sent_ = 0;      // how many bytes the system has
    std::size_t reserved_ = 0;  // and up to where there is room for more
    int descriptor_ = -1;
    Pending pending_;
};

/// Writes `bytes` to `path`, whole or not at all.  Errors  OutputError, as OutputFile.
void write_file(const std::string& path, std::string_view bytes);

/// A folder of files that appears whole or not at all: the files are written into a temporary
/// folder beside the target, and commit() exchanges the two. Without commit() the destructor
/// removes the temporary.
///
/// A target that exists must be empty, or hold a `walk.json` of this program and beside it nothing
/// but one file `NN_NAME.npy` for a step that it names. A folder with anything else is not touched.
///
/// Errors  OutputError naming the path and the reason, from every function.
class OutputFolder {
public:
    explicit OutputFolder(const std::string& path);
    ~OutputFolder();
    OutputFolder(const OutputFolder&) = delete;
    OutputFolder& operator=(const OutputFolder&) = delete;

    /// Where the file `name` of this folder is to be written.
    std::string file(const std::string& name);

    /// Makes the folder visible under its name, in the place of an older one.
    void commit();

private:
    [[noreturn]] void fail(const std::string& what, const std::string& advice) const;
    void check_replaced();
    void remove_replaced(const std::string& folder) const;

    std::string path_;              // as the caller said it, for messages
    std::string target_;            // absolute, with all symbolic links resolved
    std::string temporary_;         // empty once it is gone
    std::vector<Pending> pending_;  // the temporary folder and its files
    bool replaces_ = false;
    std::vector<std::string> replaced_;  // the files of the older folder
};

}  // namespace attn
