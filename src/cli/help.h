#pragma once
// What castor says about its commands and options: on a terminal, and as a page of the reference.
//
// Thread: any.
#include <span>
#include <string>
#include <string_view>

#include "cli/catalog.h"
#include "cli/options.h"

namespace castor::cli {

// "--rank N", "--data FILE...": an option with what stands for its value.
std::string usage_of(const Field& field);
// What may be given and what holds without: "from 1 to 2048; default 32".
std::string legal_values(const Field& field);

// The page of one command, for --help. REQUIRES: the targets hold the defaults.
std::string help_page(const Spec& spec);
// The commands whose names begin with `prefix` ("" = all), and how to go on.
std::string command_list(std::span<const CommandEntry> commands, std::string_view prefix);
// docs/reference/options.md, or the part of one command.
std::string markdown_page(std::span<const CommandEntry> commands);

// The text in lines of at most `width`, each after `indent` spaces.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width);

}  // namespace castor::cli
