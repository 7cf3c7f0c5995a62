import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isFlagged, parseCorpus, reportCorpus } from './corpus-report.ts';

const read = (name: string) =>
  parseCorpus(readFileSync(new URL(`../corpus/${name}.txt`, import.meta.url), 'utf8'));
const destructive = read('destructive');
const benign = read('benign');
const report = reportCorpus({
  destructive: [...destructive, ...read('adversarial')],
  benign,
  everyday: read('everyday'),
});

describe('the corpus', () => {
  it('has a benign twin for each destructive command, and enough of both', () => {
    expect(benign.length).toBe(destructive.length);
    expect(destructive.length).toBeGreaterThanOrEqual(300);
    expect(report.counts.everyday).toBeGreaterThanOrEqual(300);
  });

  it('is caught by the classifier to at least 98 percent', () => {
    expect(report.classifier.missed.slice(0, Math.ceil(report.counts.destructive * 0.02))).toEqual(
      report.classifier.missed,
    );
    expect(report.classifier.recall).toBeGreaterThanOrEqual(0.98);
  });

  it('is distinguished line by line where a twin is beside it', () => {
    expect(destructive.filter((command) => !isFlagged(command))).toEqual([]);
    expect(benign.filter(isFlagged)).toEqual([]);
  });

  it('has at most 2 percent of its harmless commands flagged', () => {
    expect(report.classifier.everydayFlagged).toBeLessThanOrEqual(0.02);
    expect(report.classifier.benignFlagged).toBeLessThanOrEqual(0.02);
  });

  it('is caught less well by plain regexes', () => {
    expect(report.regex.recall).toBeLessThan(report.classifier.recall);
    expect(report.regex.everydayFlagged).toBeGreaterThan(report.classifier.everydayFlagged);
  });
});
