// The system call filter, as a classic BPF program that bubblewrap loads right before the program starts.
//
// A refused call returns EPERM and the program can continue. Only a foreign instruction set (32-bit, x32), whose call
// numbers mean something else, is killed. `clone3` returns "no such call", because its flags are in memory where a
// filter cannot read them; every C library then falls back to `clone`, whose flags are visible.
import { SandboxUnavailableError } from './errors.ts';
import { SECCOMP_ARCHITECTURES, type SeccompArchitecture } from './seccomp-syscalls.ts';

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const answer = (errno: number): number => 0x00050000 | errno;

/** Offsets in the kernel's `struct seccomp_data`. */
const NUMBER_AT = 0;
const ARCHITECTURE_AT = 4;
const argumentAt = (index: number): number => 16 + 8 * index;

const X32_BIT = 0x40000000;
const NEW_NAMESPACE = 0x7e020000;
const NEW_TIME_NAMESPACE = 0x80;

/** Pushing characters into a terminal's input, and the console's own way of doing so. */
const TERMINAL_INJECTION = [0x5412, 0x541c, 0x5423];

/** Families that a network namespace contains. Others (vsock above all) reach the hypervisor, or old kernel code. */
const SOCKET_FAMILIES = { unspecified: 0, unix: 1, inet: 2, inet6: 10, netlink: 16 };

/** `personality` may be read, and set to the ordinary one. */
const PERSONALITIES = [0, 0xffffffff];

interface Instruction {
  readonly code: number;
  readonly whenTrue: number;
  readonly whenFalse: number;
  readonly value: number;
}

const load = (offset: number): Instruction => ({ code: 0x20, whenTrue: 0, whenFalse: 0, value: offset });
const give = (value: number): Instruction => ({ code: 0x06, whenTrue: 0, whenFalse: 0, value });
/** Runs the next instruction when equal (greater or equal; any bit set), else skips `count`. */
const unlessEqualSkip = (value: number, count: number): Instruction => ({
  code: 0x15,
  whenTrue: 0,
  whenFalse: count,
  value,
});
const unlessAtLeastSkip = (value: number, count: number): Instruction => ({
  code: 0x35,
  whenTrue: 0,
  whenFalse: count,
  value,
});
const unlessAnyBitSkip = (value: number, count: number): Instruction => ({
  code: 0x45,
  whenTrue: 0,
  whenFalse: count,
  value,
});

/** The program for this machine, in the form that the kernel loads. */
export function buildSeccompProgram(architecture: string = process.arch): Buffer {
  const program = built.get(architecture) ?? buildFor(architecture);
  built.set(architecture, program);
  return program;
}

const built = new Map<string, Buffer>();

function buildFor(architecture: string): Buffer {
  const table = SECCOMP_ARCHITECTURES[architecture];
  if (table === undefined) {
    throw new SandboxUnavailableError(`There is no system call filter for ${architecture}.`, {
      remedy: 'Use Linux on x64 or arm64.',
    });
  }
  return encode(listInstructions(table));
}

function listInstructions(table: SeccompArchitecture): Instruction[] {
  const { special } = table;
  return [
    load(ARCHITECTURE_AT),
    ...whenNotEqual(table.auditArchitecture, KILL_PROCESS),
    load(NUMBER_AT),
    ...(table.hasX32 ? [unlessAtLeastSkip(X32_BIT, 1), give(KILL_PROCESS)] : []),
    ...whenEqual(special.clone3, answer(ENOSYS)),
    ...Object.values(table.denied).flatMap((number) => whenEqual(number, answer(EPERM))),
    ...inspect(special.clone, 0, [unlessAnyBitSkip(NEW_NAMESPACE, 1), give(answer(EPERM))]),
    ...inspect(special.unshare, 0, [
      unlessAnyBitSkip(NEW_NAMESPACE | NEW_TIME_NAMESPACE, 1),
      give(answer(EPERM)),
    ]),
    ...inspect(
      special.ioctl,
      1,
      TERMINAL_INJECTION.flatMap((value) => whenEqual(value, answer(EPERM))),
    ),
    ...inspect(special.personality, 0, [
      ...PERSONALITIES.flatMap((value) => whenEqual(value, ALLOW)),
      give(answer(EPERM)),
    ]),
    ...inspect(special.socket, 0, [
      ...Object.values(SOCKET_FAMILIES).flatMap((value) => whenEqual(value, ALLOW)),
      give(answer(EAFNOSUPPORT)),
    ]),
    give(ALLOW),
  ];
}

function whenEqual(value: number, result: number): Instruction[] {
  return [unlessEqualSkip(value, 1), give(result)];
}

function whenNotEqual(value: number, result: number): Instruction[] {
  return [{ code: 0x15, whenTrue: 1, whenFalse: 0, value }, give(result)];
}

/** For one call number: checks one argument and decides; a call that no rule matches is allowed. */
function inspect(number: number, argument: number, rules: readonly Instruction[]): Instruction[] {
  const body = [load(argumentAt(argument)), ...rules, give(ALLOW)];
  return [unlessEqualSkip(number, body.length), ...body];
}

function encode(instructions: readonly Instruction[]): Buffer {
  const program = Buffer.alloc(instructions.length * 8);
  instructions.forEach(({ code, whenTrue, whenFalse, value }, index) => {
    program.writeUInt16LE(code, index * 8);
    program.writeUInt8(whenTrue, index * 8 + 2);
    program.writeUInt8(whenFalse, index * 8 + 3);
    program.writeUInt32LE(value >>> 0, index * 8 + 4);
  });
  return program;
}
