/** Senses and workflows as a finding of the doctor: what a daemon says of them, and what their files say without one. */
import { readFileSync, statSync } from 'node:fs';
import { findNearest, type DaemonStatus } from '@caisson/protocol';
import type { ResolvedConfig } from '../config/index.ts';
import type { ProbeReport } from '../discovery/index.ts';
import { findDaemonOf } from './find-daemon.ts';
import { describeMissing } from './missing-files.ts';
import { nameFirst } from './name-first.ts';

const ID = 'residents';
const MAX_FILE_BYTES = 1024 ** 2;
const MAX_REASON_CHARACTERS = 300;
/** What a sense emits by a name that is written there; it may compute others. */
const EMITTED = /\bemit\(\s*(['"`])([a-z0-9][\w.-]*)\1/g;

/** No finding where nothing is declared. */
export async function examineResidents(config: ResolvedConfig): Promise<readonly ProbeReport[]> {
  const senses = Object.values(config.senses);
  const workflows = Object.values(config.workflows);
  if (senses.length + workflows.length === 0) return [];
  const status = await askDaemon(config);
  const findings = [...findMissing(config), ...findSignals(config), ...findTrouble(config, status)];
  const counted = `declared: ${countOf(senses.length, 'sense')} and ${countOf(workflows.length, 'workflow')}`;
  const detail = status === null ? `${counted}; no daemon serves them` : counted;
  if (findings.length === 0) return [{ id: ID, verdict: 'ok', detail }];
  const remedy =
    'Correct them; caisson residents list and caisson status say more while a daemon serves the project.';
  return [{ id: ID, verdict: 'warn', detail: `${detail}; ${nameFirst(findings)}`, findings, remedy }];
}

const countOf = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

/** What cannot be asked is a finding of another probe, or of caisson status. */
async function askDaemon(config: ResolvedConfig): Promise<DaemonStatus | null> {
  try {
    const standing = await findDaemonOf(config);
    return standing.kind === 'answers' ? standing.status : null;
  } catch {
    return null;
  }
}

function listDeclared({ senses, workflows }: ResolvedConfig): { key: string; name: string; file: string }[] {
  return [
    ...Object.values(senses).map(({ name, group, file }) => ({ key: `senses.${group}`, name, file })),
    ...Object.values(workflows).map(({ name, file }) => ({ key: `workflow.${name}`, name, file })),
  ];
}

function findMissing(config: ResolvedConfig): string[] {
  return listDeclared(config).flatMap(({ key, name, file }) => {
    const missing = describeMissing(config.projectRoot, file);
    return missing === null ? [] : [`${name} (${key}): ${missing}`];
  });
}

/** What the daemon knows beyond missing files. */
function findTrouble(config: ResolvedConfig, status: DaemonStatus | null): string[] {
  const missing = new Set(
    listDeclared(config)
      .filter(({ file }) => describeMissing(config.projectRoot, file) !== null)
      .map(({ key, name }) => `${key} ${name}`),
  );
  const troubles = (status?.residents ?? []).flatMap(({ key, state, problems = {}, blockReason = '' }) => [
    ...Object.entries(problems)
      .filter(([name]) => !missing.has(`${key} ${name}`))
      .map(([name, why]) => `${name} (${key}) does not load: ${shorten(why)}`),
    ...(state === 'blocked'
      ? [`${key} is blocked (${shorten(blockReason)}): caisson residents reset ${key}`]
      : []),
  ]);
  const held = status?.threads?.held ?? 0;
  return held === 0 ? troubles : [...troubles, `${held} threads are held: caisson threads list`];
}

/** A name may be computed, or be in a file that a sense imports: only a name that looks mistyped is reported. */
function findSignals({ senses, workflows }: ResolvedConfig): string[] {
  const texts = Object.values(senses).map(({ file }) => readText(file));
  const emitted = [
    ...new Set(texts.flatMap((text) => [...text.matchAll(EMITTED)].map(([, , name = '']) => name))),
  ];
  const listeners = [
    ...Object.values(workflows).map(({ name, on }) => ({ who: `workflows.${name}`, signals: on })),
    ...Object.values(senses).map(({ name, on }) => ({
      who: `senses.${name}`,
      signals: on.flatMap((cause) => (cause.kind === 'signal' ? [cause.name] : [])),
    })),
  ];
  return listeners.flatMap(({ who, signals }) =>
    signals.flatMap((signal) => {
      if (texts.length === 0)
        return [`${who} waits for "${signal}", and no sense is declared that could emit it`];
      if (texts.some((text) => text.includes(signal) && isNamed(text, signal))) return [];
      const nearest = findNearest(signal, emitted);
      return nearest === null
        ? []
        : [`${who} waits for "${signal}", which no file of a sense names. Did you mean "${nearest}"?`];
    }),
  );
}

/** As a whole word: "redd" is in no file that names "reddish" only. */
function isNamed(text: string, name: string): boolean {
  return text.split(/[^\w.-]+/).includes(name);
}

function readText(file: string): string {
  try {
    return statSync(file).size > MAX_FILE_BYTES ? '' : readFileSync(file, 'utf8');
  } catch {
    return ''; // that it is missing is a finding of its own
  }
}

/** The line that names the error, before its stack. */
function shorten(why: string): string {
  const lines = why.split('\n').filter((line) => line.trim() !== '' && !/^\s+at /.test(line));
  return (lines.findLast((line) => /Error\b.*:/.test(line)) ?? lines[0] ?? '')
    .trim()
    .slice(0, MAX_REASON_CHARACTERS);
}
