#pragma once
#include <stdexcept>
#include <string>

namespace attn {

/// Base of everything this library throws on purpose. Each message is one line, names the values
/// that disagree and ends with what to do about it.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Two tensors, or a tensor and an axis, do not fit each other.
class ShapeError : public Error {
public:
    using Error::Error;
};

/// Settings that contradict each other or ask for the impossible.
class ConfigError : public Error {
public:
    using Error::Error;
};

/// Errors  ConfigError with this message unless all is fine.
inline void refuse_unless(bool fine, const std::string& message) {
    if (!fine) throw ConfigError(message);
}

/// A file, or standard input, that cannot be read as what it claims to be. The message names the
/// file and the offset or line.
class InputError : public Error {
public:
    using Error::Error;
};

/// A place that cannot be written.
class OutputError : public Error {
public:
    using Error::Error;
};

}  // namespace attn
