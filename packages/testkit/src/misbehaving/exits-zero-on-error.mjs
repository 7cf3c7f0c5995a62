// Fails, says so on stderr, and exits as if all were well.
process.stderr.write('error: 401 invalid api key\n');
process.exitCode = 0;
