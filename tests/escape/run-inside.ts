// Runs a small program in the real sandbox and reports what it could do.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { launchSandbox, type SandboxProcess, type SandboxSpec } from '@caisson/ground';
import { createSampleSpec } from '../../packages/ground/src/sandbox/fixtures/sample-spec.ts';

export interface Cell {
  readonly root: string;
  readonly workspace: string;
  readonly spec: SandboxSpec;
}

export interface InsideResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

/** A fresh workspace and the strictest spec around it. */
export function createCell(overrides: Partial<SandboxSpec> = {}): Cell {
  const root = mkdtempSync(join(tmpdir(), 'caisson-escape-'));
  const workspace = join(root, 'workspace');
  mkdirSync(workspace);
  const spec: SandboxSpec = { ...createSampleSpec(workspace), ...overrides };
  return { root, workspace, spec };
}

export function removeCell(cell: Cell): void {
  rmSync(cell.root, { recursive: true, force: true });
}

/** Runs a shell script inside to its end. */
export function runShell(
  cell: Cell,
  script: string,
  overrides: Partial<SandboxSpec> = {},
): Promise<InsideResult> {
  return runInside(cell, ['/bin/sh', '-c', script], overrides);
}

/** Runs a Perl program inside: Perl is part of every Debian and can make any system call by number. */
export function runPerl(
  cell: Cell,
  program: string,
  overrides: Partial<SandboxSpec> = {},
): Promise<InsideResult> {
  return runInside(cell, ['perl', '-e', program], overrides);
}

export async function runInside(
  cell: Cell,
  argv: string[],
  overrides: Partial<SandboxSpec> = {},
): Promise<InsideResult> {
  const running = await launchSandbox({ ...cell.spec, ...overrides, argv });
  return collect(running);
}

export async function collect(running: SandboxProcess): Promise<InsideResult> {
  const [stdout, stderr, exit] = await Promise.all([
    text(running.stdout),
    text(running.stderr),
    running.exited,
  ]);
  return { stdout, stderr, code: exit.code };
}
