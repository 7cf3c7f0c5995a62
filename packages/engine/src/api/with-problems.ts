import { definedOnly } from '@caisson/protocol';
import { InputInvalidError, toProblem } from './problems.ts';

/** What is used of hono's routes. The published types do not name hono: it is no dependency of the package. */
interface Routes {
  onError(answer: (error: Error) => Response): unknown;
  notFound(answer: (context: { readonly req: RouteRequest }) => Response): unknown;
}

type RouteRequest = Readonly<Record<'method' | 'path', string>>;

/** The same routes, whose errors are problem+json, also where there is no such route. */
export function withProblems<R extends Routes>(routes: R): R {
  routes.onError((error) => answerProblem(error));
  routes.notFound(({ req }) =>
    answerProblem(new InputInvalidError(`there is no ${req.method} ${req.path}`), 404),
  );
  return routes;
}

function answerProblem(error: unknown, status?: number): Response {
  const problem = { ...toProblem(error), ...definedOnly({ status }) };
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: { 'content-type': 'application/problem+json' },
  });
}
