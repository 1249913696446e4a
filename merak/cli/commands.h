// What each command does, with its arguments parsed: the seam between the
// command line and the rest. Each function returns the exit code, 0 unless said
// otherwise, prints its result with output.h, as JSON if `json` is set, and
// throws merak::Error (app.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "merak/config/parse.h"

namespace merak::cli {

// CONFIG and --set of the commands that take a configuration.
struct ConfigArguments {
  std::string file;
  std::vector<std::string> set;

  config::Loaded load() const { return config::load_config(file, set); }
};

struct TrainOptions {
  ConfigArguments config;
  int ranks = 0;  // local ranks to start; 0: config::default_world()
  bool json = false;
};
int train(const TrainOptions& options);

struct LaunchOptions {
  int ranks = 1;  // on this host
  int nodes = 1;
  int node_rank = 0;
  std::string rendezvous;  // HOST:PORT of node 0
  int max_restarts = 0;
  std::vector<std::string> command;
};
// Returns the first failing rank's code, 128 + n where signal n killed it.
int launch(const LaunchOptions& options);

struct PlanOptions {
  ConfigArguments config;
  std::string cluster;
  int world = 0;  // ranks; 0: all devices of the cluster
  int top = 5;    // plans shown
  std::string output;
  bool json = false;
};
int plan(const PlanOptions& options);

struct SimulateOptions {
  ConfigArguments config;
  std::string cluster;
  std::string plan;
  std::string trace;  // a Chrome trace to write
  bool timeline = false;
  bool json = false;
};
int simulate(const SimulateOptions& options);

struct VerifyOptions {
  ConfigArguments config;
  int steps = 3;
  int ranks = 0;  // as for train
  bool json = false;
};
// Returns 4 where something differs.
int verify(const VerifyOptions& options);

struct TraceOptions {
  ConfigArguments config;
  std::string level = "model";  // shards, stages, program
  std::string output;           // empty: standard output
  bool json = false;
};
int trace(const TraceOptions& options);

struct GenerateOptions {
  std::string path;  // a checkpoint, or a Hugging Face folder
  std::string prompt;
  int max_new_tokens = 64;
  double temperature = 1;  // 0: the likeliest token
  int top_k = 0;           // 0: all
  double top_p = 1;
  std::int64_t seed = 1234;
  bool json = false;
};
int generate(const GenerateOptions& options);

struct TokenizeOptions {
  std::string tokenizer;
  std::string output;  // prefix of .bin and .idx
  std::vector<std::string> files;
  bool json = false;
};
int tokenize(const TokenizeOptions& options);

struct ExportOptions {
  std::string checkpoint;
  std::string output;  // folder
  bool json = false;
};
int export_folder(const ExportOptions& options);

struct InspectOptions {
  std::string path;
  bool json = false;
};
int inspect(const InspectOptions& options);

struct ReportOptions {
  std::string run;
  std::string output;
};
int report(const ReportOptions& options);

struct DoctorOptions {
  std::string dir = ".";  // where runs are to lie
  bool json = false;
};
int doctor(const DoctorOptions& options);

}  // namespace merak::cli
