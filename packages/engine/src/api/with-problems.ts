import type { Context, Env, Hono } from 'hono';
import { definedOnly } from '@caisson/protocol';
import { InputInvalidError, toProblem } from './problems.ts';

/** The same routes, whose errors are problem+json, also where there is no such route. */
export function withProblems<E extends Env>(routes: Hono<E>): Hono<E> {
  routes.onError((error, context) => answerProblem(context, error));
  routes.notFound((context) =>
    answerProblem(
      context,
      new InputInvalidError(`there is no ${context.req.method} ${context.req.path}`),
      404,
    ),
  );
  return routes;
}

function answerProblem(context: Context, error: unknown, status?: number): Response {
  const problem = { ...toProblem(error), ...definedOnly({ status }) };
  return context.body(JSON.stringify(problem), problem.status as 400, {
    'content-type': 'application/problem+json',
  });
}
