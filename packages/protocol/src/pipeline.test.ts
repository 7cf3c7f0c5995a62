import { describe, expect, it } from 'vitest';

import { createDefaultPipeline, parsePipelineSpec, PipelineSpecError } from './pipeline.ts';

const wrap = (...blocks: unknown[]) => ({ schemaVersion: 1, id: 'pack.name', blocks });

describe('pipeline spec v1', () => {
  it('fills in the defaults of a script block', () => {
    expect(parsePipelineSpec(wrap({ kind: 'agent' }, { kind: 'script', command: 'npm test' }))).toEqual(
      wrap({ kind: 'agent' }, { kind: 'script', command: 'npm test', timeoutSeconds: 600, lens: 'gate' }),
    );
  });

  it('refuses a pipeline that never runs its task, and names every kind of block', () => {
    expect(() => parsePipelineSpec(wrap({ kind: 'script', command: 'x' }))).toThrow(/no agent block/);
    expect(() => parsePipelineSpec(wrap({ kind: 'deploy' }))).toThrow(
      expect.objectContaining({ remedy: expect.stringContaining('agent, script, capture') }),
    );
  });

  it('refuses a literal seal by name, whichever way it is written', () => {
    for (const seal of [{ kind: 'seal' }, 'seal', { kind: 'seal', extra: 1 }]) {
      expect(() => parsePipelineSpec(wrap({ kind: 'agent' }, seal))).toThrow(/block 1 .*seal/);
    }
  });

  it('builds a default pipeline with and without a verify command', () => {
    expect(createDefaultPipeline().blocks).toEqual([
      { kind: 'agent' },
      { kind: 'capture', what: 'patch' },
      { kind: 'capture', what: 'outputs' },
    ]);
    expect(createDefaultPipeline({ verify: 'make check' }).blocks[2]).toEqual({
      kind: 'script',
      command: 'make check',
      timeoutSeconds: 600,
      lens: 'verify',
    });
    expect(parsePipelineSpec(createDefaultPipeline({ verify: 'x' }))).toEqual(
      createDefaultPipeline({ verify: 'x' }),
    );
  });

  it('refuses a clean-room script that has no captured patch before it', () => {
    const room = { kind: 'script', command: 'x', lens: 'clean-room' };
    expect(() => parsePipelineSpec(wrap({ kind: 'agent' }, room))).toThrow(PipelineSpecError);
    parsePipelineSpec(wrap({ kind: 'agent' }, { kind: 'capture', what: 'patch' }, room));
  });

  it('refuses unknown kinds, unknown keys, empty pipelines and ids without a pack', () => {
    const bad: unknown[] = [
      wrap({ kind: 'deploy' }),
      wrap({ kind: 'agent', model: 'x' }),
      wrap(),
      { ...wrap({ kind: 'agent' }), id: 'nopack' },
      { ...wrap({ kind: 'agent' }), schemaVersion: 2 },
      wrap({ kind: 'script', command: '' }),
      null,
      'agent',
    ];
    for (const input of bad) expect(() => parsePipelineSpec(input)).toThrow(PipelineSpecError);
  });
});
