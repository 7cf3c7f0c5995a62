/** Caps on spending in `caisson.yaml`. */
import * as z from 'zod/mini';
import { count, money, optional, tokens } from './config-values.ts';

export const BudgetConfig = z.strictObject({
  perRunUsd: optional('may-lower', money(), 'Money one run may spend.'),
  perSessionUsd: optional('may-lower', money(), 'Money all runs of a session may spend.'),
  perDayUsd: optional('may-lower', money(), 'Money this project may spend in a day (UTC).'),
  perRunTokens: optional('may-lower', tokens(), 'Tokens one run may use, in and out.'),
  perRunTurns: optional('may-lower', count(0, 1_000_000), 'Model turns of one run.'),
  perRunToolCalls: optional('may-lower', count(0, 1_000_000), 'Tool calls of one run.'),
  perSessionTokens: optional('may-lower', tokens(), 'Tokens all runs of a session may use.'),
  perSessionTurns: optional('may-lower', count(0, 1_000_000), 'Model turns of all runs of a session.'),
  perSessionToolCalls: optional('may-lower', count(0, 1_000_000), 'Tool calls of all runs of a session.'),
  perDayTokens: optional('may-lower', tokens(), 'Tokens this project may use in a day (UTC).'),
  perDayTurns: optional('may-lower', count(0, 1_000_000), 'Model turns of this project in a day (UTC).'),
  perDayToolCalls: optional('may-lower', count(0, 1_000_000), 'Tool calls of this project in a day (UTC).'),
  allowUnknownCost: optional(
    'may-lower',
    z.boolean(),
    'Allow a model without a known price under a money cap. Default false.',
  ),
});
