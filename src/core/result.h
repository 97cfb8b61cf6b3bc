#pragma once
// Result<T>: a value, or an Error a person can act on. Operating errors (files, peers, input,
// options) travel this way; bugs abort (core/check.h). Both classes are [[nodiscard]]: dropping one
// is a warning, and warnings are errors. Member names are those of std::expected.
//
// Thread: any (plain values).
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/check.h"

namespace castor {

// Closed: the code is for programs, the message for people; nobody parses messages.
enum class Code : unsigned char {
  invalid,    // the user asked for something that makes no sense: an option, a malformed input line
  not_found,  // a file, a row, a name does not exist
  exists,     // would overwrite something
  unavailable,  // try again later: a peer is away
  deadline,     // a wait ran out
  cancelled,    // asked to stop
  stale_epoch,  // sent under an older membership
  exhausted,    // a bounded resource is full: disk, queue, memory limit
  corrupt,      // bytes that do not decode, a checksum that does not match
  io,           // the operating system refused
  unsupported,  // legal, but not something this build or solver does
};

std::string_view name_of(Code code);

// True when doing the same again later may succeed without anybody changing anything.
bool is_retryable(Code code);

class [[nodiscard]] Error {
 public:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  // Prepends what was being done: "opening model 'x': <message>".
  Error with(std::string_view doing) && {
    message_.insert(0, std::string(doing) + ": ");
    return std::move(*this);
  }

 private:
  Code code_;
  std::string message_;
};

template <class... Args>
Error error(Code code, std::string_view pattern, const Args&... args) {
  return Error(code, text(pattern, args...));
}

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: same

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // REQUIRES: has_value().
  T& value() & { return checked(); }
  const T& value() const& { return const_cast<Result*>(this)->checked(); }
  T&& value() && { return std::move(checked()); }
  T& operator*() & { return checked(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(checked()); }
  T* operator->() { return &checked(); }
  const T* operator->() const { return &value(); }

  // REQUIRES: !has_value().
  Error& error() & { return std::get<1>(state_); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::move(std::get<1>(state_)); }

 private:
  T& checked() {
    CHECK(has_value(), "value() of an error: {}", std::get<1>(state_).message());
    return std::get<0>(state_);
  }

  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  void value() const { CHECK(has_value(), "value() of an error: {}", error_->message()); }

  // REQUIRES: !has_value().
  Error& error() & { return *error_; }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace castor

#define CASTOR_CONCAT_INNER(a, b) a##b
#define CASTOR_CONCAT(a, b) CASTOR_CONCAT_INNER(a, b)

// TRY(status): returns the error to the caller. TRY_AS(auto v, result): declares v from the value.
#define TRY(expression)                     \
  do {                                      \
    auto castor_try = (expression);         \
    if (!castor_try) [[unlikely]]           \
      return std::move(castor_try).error(); \
  } while (false)

#define TRY_AS(declaration, expression) \
  CASTOR_TRY_AS(CASTOR_CONCAT(castor_try_, __LINE__), declaration, expression)
#define CASTOR_TRY_AS(name, declaration, expression) \
  auto name = (expression);                          \
  if (!name) [[unlikely]]                            \
    return std::move(name).error();                  \
  declaration = std::move(name).value()
