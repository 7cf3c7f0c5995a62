// Loaded with the first tool call, not at the start: loading the shell parser would delay the first request.

import { evaluate, PolicyRule } from '@caisson/policy';
import type { GatedCall } from './tool-gate.ts';
import type { NativeConfig } from './native-config.ts';

/** The part of the config that judges a call. */
export type JudgeConfig = Pick<NativeConfig, 'mode' | 'rules' | 'workspace' | 'home'>;

export type Judge = (call: GatedCall) => ReturnType<typeof evaluate>;

/** A rule that cannot be read throws, and stops every call: incomplete rules must not apply. */
export function createJudge(config: JudgeConfig): Judge {
  const rules = (config.rules ?? []).map((rule) => PolicyRule.parse(rule));
  const { mode, workspace, home } = config;
  return ({ tool, input }) => evaluate({ mode, rules, tool, input, workspace, home });
}
