#pragma once
// From the words of a command line to option structs, by way of their Fields. An option is
// --name-of-field with its value in the next word or after '='; a flag has no value; a list takes
// several words, or is given several times. Values that a --config file sets give way to --set, and
// both to options.
//
// A word that is no option fills the positional arguments first; when they are full it is one more
// value of the list option before it. So both of these work:
//     castor train mf --data day1.tsv day2.tsv --out model
//     castor evaluate --data test.tsv model
//
// Thread: any.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.h"
#include "core/result.h"
#include "world/files.h"

namespace castor::cli {

struct Group {
  std::string title;
  std::vector<Field> fields;
};

// What there is to say about a command, and where its options are.
struct Spec {
  std::string name = {};                   // "train mf"
  std::string summary = {};                // a phrase
  std::string description = {};            // paragraphs, for --help
  std::vector<std::string> examples = {};  // command lines
  std::vector<Field> positionals = {};     // in order; a list takes all the rest
  std::vector<Group> groups = {};
};

// Of every command.
struct SharedOptions {
  bool json = false;
  bool quiet = false;
  std::string log = "text";
  std::string log_level = "warn";
  std::string config;
  std::vector<std::string> set;
};

std::vector<Field> fields(SharedOptions& options);

// "--checkpoint-every".
std::string flag_of(const Field& field);

// Sets the targets of the spec's fields, and of `shared`, from the words after the command's name.
// Every error is one of usage, and says what is wrong with which option. On error some targets may
// have been set.
Status parse(const Spec& spec, SharedOptions& shared, std::span<const std::string> words,
             world::Files& files);

// True when -h or --help is among the words, so that nothing else of them matters.
bool wants_help(std::span<const std::string> words);

}  // namespace castor::cli
