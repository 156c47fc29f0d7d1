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

/// Where a file is written, and how messages call it: a temporary has the name of its target.
struct OutputPlace {
    template <class Path>
    requires std::convertible_to<Path, std::string> OutputPlace(const Path& where)
        : path(where), shown(path) {}
    OutputPlace(std::string where, std::string name)
        : path(std::move(where)), shown(std::move(name)) {}
    std::string path, shown;
};

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
    explicit OutputFile(const OutputPlace& place);
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    /// Appends `bytes`. Small pieces are gathered; a large one is handed to the system as it lies
    /// in memory.
    void write(std::string_view bytes);

    /// Makes the file complete and visible under its name. Nothing may be written afterwards.
    void commit();

    const std::string& path() const { return path_; }
    /// The file that commit() makes, with all symbolic links resolved; empty for what is written
    /// straight.
    std::string replaced() const { return made_.pending ? target_ : ""; }

private:
    [[noreturn]] void fail(const std::string& action, int reason) const;
    void send(std::string_view bytes);

    std::string path_;    // as the caller said it, for messages
    std::string target_;  // with all symbolic links resolved
    Temporary made_;      // none pending when the target is written straight
    std::string gathered_;
    int descriptor_ = -1;
};

/// Writes `bytes` to a file, whole or not at all.  Errors  OutputError, as OutputFile.
void write_file(const OutputPlace& place, std::string_view bytes);

/// Files that appear together or not at all, among others that stay as they are: they are written
/// into temporary folders beside their targets, and commit() renames them one after another. Two
/// programs that write one set do that in turns. Without commit() nothing has changed; between the
/// first and the last of the renames only SIGKILL and the end of the machine can stop it.
///
/// Errors  OutputError naming the path and the reason, from every function; an error in commit()
///         takes back what it had renamed.
class OutputSet {
public:
    /// Where the file that is to become `path` is to be written, if it is; what is no regular file
    /// is written straight.
    OutputPlace file(const std::string& path);

    /// Makes all files visible under their names.
    void commit();

private:
    struct Member {
        std::string path, target, temporary;
        bool exchanged = false;  // whether the older file is where the temporary was
    };
    void rename_all();

    std::map<std::string, TemporaryFolder> folders_;  // by the folder of their targets
    std::vector<Member> members_;
};

/// A folder of files that appears whole or not at all: the files are written into a temporary
/// folder beside the target, and commit() gives it the target's name. An older folder steps aside
/// before, comes back if that fails, and is removed after it. Without commit() the destructor
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
    OutputPlace file(const std::string& name) const;

    /// Makes the folder visible under its name, in the place of an older one.
    void commit();

private:
    [[noreturn]] void fail(const std::string& what, const std::string& advice) const;
    void check_replaced();
    void remove_replaced(const std::string& folder) const;

    std::string path_;    // as the caller said it, for messages
    std::string target_;  // absolute, with all symbolic links resolved
    std::optional<TemporaryFolder> temporary_;
    bool replaces_ = false;
    std::vector<std::string> replaced_;  // the files of the older folder
};

}  // namespace attn
