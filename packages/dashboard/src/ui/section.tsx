import { useId, type ReactNode } from 'react';

interface SectionProps {
  readonly title: string;
  readonly tools?: ReactNode;
  readonly children: ReactNode;
}

export function Section({ title, tools, children }: SectionProps) {
  const id = useId();
  return (
    <section className="card" aria-labelledby={id}>
      <div className="spread">
        <h2 id={id}>{title}</h2>
        {tools}
      </div>
      {children}
    </section>
  );
}
