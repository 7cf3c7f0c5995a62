/** Counts what the classifier and a plain-regex gate catch and wrongly flag on a corpus. */
import { classifyCommand } from './classify-command.ts';
import { decide } from './decide.ts';
import { isFlaggedByRegex } from './regex-baseline.ts';

export interface Corpus {
  readonly destructive: readonly string[];
  /** The harmless twins of the destructive ones. */
  readonly benign: readonly string[];
  readonly everyday: readonly string[];
}

export interface GateScore {
  /** Share of destructive commands caught. */
  readonly recall: number;
  readonly missed: readonly string[];
  /** Share of harmless commands flagged. */
  readonly benignFlagged: number;
  readonly everydayFlagged: number;
  readonly falsePositives: readonly string[];
}

export interface CorpusReport {
  readonly counts: { destructive: number; benign: number; everyday: number };
  readonly classifier: GateScore;
  readonly regex: GateScore;
}

/** Parses a corpus file: one command a line, `␤` for a line break, `##` opens a comment line. */
export function parseCorpus(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('## '))
    .map((line) => line.replaceAll('␤', '\n'));
}

/** Flagged: the mode auto-edit would not allow it without a question. */
export function isFlagged(command: string): boolean {
  return decide('auto-edit', classifyCommand(command).actionClass) !== 'allow';
}

export function reportCorpus(corpus: Corpus): CorpusReport {
  const { destructive, benign, everyday } = corpus;
  return {
    counts: { destructive: destructive.length, benign: benign.length, everyday: everyday.length },
    classifier: score(corpus, isFlagged),
    regex: score(corpus, isFlaggedByRegex),
  };
}

function score(corpus: Corpus, flags: (command: string) => boolean): GateScore {
  const missed = corpus.destructive.filter((command) => !flags(command));
  const benign = corpus.benign.filter(flags);
  const everyday = corpus.everyday.filter(flags);
  return {
    recall: 1 - missed.length / corpus.destructive.length,
    missed,
    benignFlagged: benign.length / corpus.benign.length,
    everydayFlagged: everyday.length / corpus.everyday.length,
    falsePositives: [...benign, ...everyday],
  };
}
