import { useApp } from '../live/app-context.ts';
import { useAction } from '../live/use-action.ts';
import { ProblemNotice } from '../ui/notices.tsx';

interface DeedButtonsProps {
  /** Label → path of the operation. */
  readonly deeds: Readonly<Record<string, string>>;
  readonly of: string;
  onChanged(): void;
}

export function DeedButtons({ deeds, of, onChanged }: DeedButtonsProps) {
  const { client } = useApp();
  const action = useAction();
  const press = (path: string) => void action.run(() => client.send('POST', path)).then(onChanged);
  return (
    <>
      <div className="actions">
        {Object.entries(deeds).map(([label, path]) => (
          <button
            key={label}
            type="button"
            disabled={action.isBusy}
            aria-label={`${label} ${of}`}
            onClick={() => press(path)}
          >
            {label}
          </button>
        ))}
      </div>
      <ProblemNotice problem={action.problem} onClose={action.clear} />
    </>
  );
}
