#pragma once
#include <stdexcept>
#include <string>

namespace attn {

/// Base of all errors that this library throws on purpose. Each message is one line, names the
/// conflicting values and ends with advice.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Two tensors, or a tensor and an axis, that do not fit.
class ShapeError : public Error {
public:
    using Error::Error;
};

/// Settings that contradict each other or are impossible.
class ConfigError : public Error {
public:
    using Error::Error;
};

/// Errors  ConfigError with this message if `fine` is false.
inline void refuse_unless(bool fine, const std::string& message) {
    if (!fine) throw ConfigError(message);
}

/// A file, or standard input, that cannot be read in its format. The message names the file and the
/// offset or line.
class InputError : public Error {
public:
    using Error::Error;
};

/// A path that cannot be written.
class OutputError : public Error {
public:
    using Error::Error;
};

}  // namespace attn
