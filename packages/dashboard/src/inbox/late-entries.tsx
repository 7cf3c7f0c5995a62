import { plural } from '../ui/format.ts';

/** Says that more urgent entries came below, and puts them first when a person wants it. */
export function LateEntries({ count, onShow }: { count: number; onShow: () => void }) {
  const show = () => {
    onShow();
    window.scrollTo({ top: 0 });
  };
  return (
    <div className="late" role="status">
      {count === 0 ? null : (
        <button type="button" className="primary" onClick={show}>
          {plural(count, 'new entry', 'new entries')}: show
        </button>
      )}
    </div>
  );
}
