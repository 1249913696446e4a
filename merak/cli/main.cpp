#include "merak/cli/app.h"

int main(int argc, char** argv) { return merak::cli::run(argc, argv); }
