/** The option that lets rsync, kubectl and friends speak without acting. `-n` is often a namespace. */
export function isDryRun(args: readonly string[]): boolean {
  return args.some((arg) =>
    /^(--dry-run(=(?!none).*)?|--dryrun|--what-if|--noop|--check|--simulate|-WhatIf)$/.test(arg),
  );
}
