import { MODES } from '@caisson/protocol';
import { describe, expect, it } from 'vitest';
import { ACTION_CLASSES } from './action-class.ts';
import { decide } from './decide.ts';
import { UnknownModeError } from './errors.ts';

describe('decide', () => {
  it('is the matrix of the protocol, cell by cell', () => {
    const matrix = ACTION_CLASSES.map((c) => [c, ...MODES.map((mode) => decide(mode, c))].join(' '));
    expect(matrix).toEqual([
      'file_read allow allow allow',
      'file_write deny allow allow',
      'file_delete deny ask allow',
      'bash_exec deny allow allow',
      'bash_destructive deny deny ask',
      'git_push deny deny ask',
      'git_destructive deny deny deny',
      'network ask allow allow',
      'agent_dispatch deny allow allow',
      'system_modify deny deny deny',
    ]);
  });

  it.each([
    ['auto_edit', 'Did you mean "auto-edit"?'],
    ['fullauto', 'Did you mean "full-auto"?'],
    ['Suggest', 'Did you mean "suggest"?'],
    ['auto', 'Did you mean "auto-edit"?'],
    ['yolo', 'Use one of suggest, auto-edit, full-auto.'],
  ])('refuses the mode %s and says what to do', (mode, remedy) => {
    expect(() => decide(mode, 'file_read')).toThrow(UnknownModeError);
    try {
      decide(mode, 'file_read');
    } catch (error) {
      expect((error as UnknownModeError).remedy).toBe(remedy);
    }
  });
});
