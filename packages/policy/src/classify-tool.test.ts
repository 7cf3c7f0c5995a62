import { describe, expect, it } from 'vitest';
import { classifyTool, joinToolNames } from './classify-tool.ts';

describe('classifyTool', () => {
  it.each([
    ['claude', 'Read Glob Grep LS', 'file_read'],
    ['claude', 'Edit Write MultiEdit NotebookEdit', 'file_write'],
    ['claude', 'WebFetch WebSearch', 'network'],
    ['claude', 'Task', 'agent_dispatch'],
    ['claude', 'TodoWrite', 'file_read'],
    ['gemini', 'read_file read_many_files list_directory search_file_content', 'file_read'],
    ['gemini', 'write_file replace', 'file_write'],
    ['gemini', 'web_fetch google_web_search', 'network'],
    ['opencode', 'read grep glob list', 'file_read'],
    ['opencode', 'edit write', 'file_write'],
    ['opencode', 'webfetch', 'network'],
    ['opencode', 'task', 'agent_dispatch'],
    ['pi', 'read grep find ls', 'file_read'],
    [
      'coordination',
      'board_read board_post report_context read_context ask mcp__caisson__hand_off mcp__caisson__board_claim',
      'file_read',
    ],
    ['coordination', 'dispatch mcp__caisson__dispatch', 'agent_dispatch'],
  ])('%s: %s are %s', (_, names, actionClass) => {
    for (const name of names.split(' '))
      expect([name, classifyTool(name, {}).actionClass]).toEqual([name, actionClass]);
  });

  it.each([
    ['Bash', { command: 'ls' }],
    ['run_shell_command', { command: 'ls' }],
    ['exec_command', { cmd: 'ls' }],
    ['shell', { command: ['ls'] }],
    ['local_shell', { action: {}, command: 'ls' }],
  ])('finds the command in %s', (tool, input) => {
    expect(classifyTool(tool, input).command).toBe('ls');
  });

  it('quotes the words of an argument list, so that each stays one word', () => {
    expect(classifyTool('shell', { command: ['bash', '-lc', "rm 'a b'"] }).command).toBe(
      `bash -lc 'rm '\\''a b'\\'''`,
    );
  });

  it('takes a shell tool without a readable command for the worst', () => {
    expect(classifyTool('Bash', { command: 42 })).toEqual({
      actionClass: 'bash_destructive',
      command: null,
      paths: [],
    });
  });

  it('lets opencode report to its model that a call was misspelt', () => {
    expect(classifyTool('invalid', { tool: 'bsh', error: 'no such tool' }).actionClass).toBe('file_read');
  });

  it('never takes an unknown tool for a read', () => {
    for (const name of ['frobnicate', 'mcp__other__read', 'mcp__other__board_read', '']) {
      expect(classifyTool(name, {}).actionClass).toBe('unknown');
    }
  });

  it('refuses two runtimes in which a tool of the same name does different things', () => {
    expect(() => joinToolNames([{ read: 'Peek Look' }, { shell: 'look' }])).toThrow(
      'the tool look is read in one table and shell in another',
    );
  });

  it('reads the files of a patch, and sees that one is deleted', () => {
    const input = '*** Begin Patch\n*** Update File: a.ts\n@@\n-x\n+y\n*** Delete File: b.ts\n*** End Patch';
    expect(classifyTool('apply_patch', { input })).toEqual({
      actionClass: 'file_delete',
      command: null,
      paths: [
        { path: 'a.ts', access: 'write' },
        { path: 'b.ts', access: 'delete' },
      ],
    });
  });
});
