import type { ProblemError } from './api/problem.ts';
import { ProblemNotice } from './ui/notices.tsx';

export function SignIn({ isSigningIn, problem }: { isSigningIn: boolean; problem: ProblemError | null }) {
  return (
    <main className="sign-in">
      <div className="card">
        <h1>Caisson</h1>
        {isSigningIn ? (
          <p role="status">Signing in…</p>
        ) : (
          <>
            <p>
              This tab has no session, or its session has ended. Get a new link in a terminal, in the folder
              of the project:
            </p>
            <pre className="command">caisson ui</pre>
            <p className="faint">A link works once. The session it opens belongs to its tab.</p>
          </>
        )}
        <ProblemNotice problem={problem} />
      </div>
    </main>
  );
}
