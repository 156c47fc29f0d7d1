#pragma once
#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/files/io/temporaries.hpp"

namespace attn {

/// The path to write a file to, and its name for messages: a temporary has the name of its target.
struct OutputPlace {
    template <class Path>
    requires std::convertible_to<Path, std::string> OutputPlace(const Path& where)
        : path(where), shown(path) {}
    OutputPlace(std::string where, std::string name)
        : path(std::move(where)), shown(std::move(name)) {}
    std::string path, shown;
};

/// A file that appears complete or not at all: data is written to a temporary next to the target,
/// and commit() renames it. Without commit() the destructor removes the temporary.
///
/// An existing target keeps its permissions; a symbolic link is kept and its target replaced.
/// Anything but a regular file (a device, a pipe, `/dev/stdout`, `/dev/fd/3`) cannot be replaced
/// and is written directly.
///
/// Errors  OutputError naming the path and the system's reason, from every function.
class OutputFile {
public:
    explicit OutputFile(const OutputPlace& place);
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    /// Appends `bytes`. Small pieces are buffered; large ones are written without copying.
    void write(std::string_view bytes);

    /// Makes the file complete and visible under its name. Nothing may be written afterwards.
    void commit();

    const std::string& path() const { return path_; }
    /// Returns the target of commit(), with all symbolic links resolved; empty for files that are
    /// written directly.
    std::string replaced() const { return temporary_file_.pending ? target_ : ""; }

private:
    [[noreturn]] void fail(const std::string& action, int reason) const;
    void send(std::string_view bytes);

    std::string path_;          // as given by the caller, for messages
    std::string target_;        // with all symbolic links resolved
    Temporary temporary_file_;  // not pending if the target is written directly
    std::string gathered_;
    int descriptor_ = -1;
};

/// Writes `bytes` to a file, completely or not at all.  Errors  OutputError, as OutputFile.
void write_file(const OutputPlace& place, std::string_view bytes);

/// Files that appear together or not at all: they are written into temporary folders next to their
/// targets, and commit() renames them one after another. Programs that write to the same folder
/// take turns. Without commit() nothing changes; between the first and the last rename only SIGKILL
/// or a crash of the machine can interrupt it.
///
/// Errors  OutputError naming the path and the reason, from every function; after an error commit()
///         restores the files that it had renamed.
class OutputSet {
public:
    /// Returns the place to write the file for `path` to; files that are not regular are written
    /// directly.
    OutputPlace file(const std::string& path);

    /// Makes all files visible under their names.
    void commit();

private:
    struct Member {
        std::string path, target, temporary;
        bool exchanged = false;  // the older file now has the temporary's name
    };
    void rename_all();

    std::map<std::string, TemporaryFolder> folders_;  // by the folder of their targets
    std::vector<Member> members_;
};

/// A folder of files that appears complete or not at all: the files are written into a temporary
/// folder next to the target, and commit() renames it to the target. An older folder is moved away
/// first, restored on failure, and removed afterwards. Without commit() the destructor removes the
/// temporary.
///
/// An existing target must be empty, or contain a `walk.json` of this program and besides only one
/// file `NN_NAME.npy` per step in it. Any other folder is left untouched.
///
/// Errors  OutputError naming the path and the reason, from every function.
class OutputFolder {
public:
    explicit OutputFolder(const std::string& path);
    ~OutputFolder();
    OutputFolder(const OutputFolder&) = delete;
    OutputFolder& operator=(const OutputFolder&) = delete;

    /// Returns the place to write the file `name` of this folder to.
    OutputPlace file(const std::string& name) const;

    /// Makes the folder visible under its name, replacing an older one.
    void commit();

private:
    [[noreturn]] void fail(const std::string& what, const std::string& advice) const;
    void check_replaced();
    void remove_replaced(const std::string& folder) const;

    std::string path_;    // as given by the caller, for messages
    std::string target_;  // absolute, with all symbolic links resolved
    std::optional<TemporaryFolder> temporary_;
    bool replaces_ = false;
    std::vector<std::string> replaced_;  // the files of the older folder
};

}  // namespace attn
