/** The panel of all tags: how many workers carry each, and which tags tasks require in vain. */

import { plural } from '../../model/text.ts';
import { Icon } from '../../ui/icon.tsx';
import { Panel } from '../../ui/layout.tsx';
import { runAction } from '../../ui/toast.tsx';
import { editWorkers } from './edit.ts';

interface TagRow {
  readonly tag: string;
  readonly workers: number;
  readonly wantedBy: readonly string[];
}

/** A double click adds a tag to the selected workers, as it does for dazflow agents. */
export function TagPanel({
  tags,
  names,
  may,
  onChanged,
}: {
  readonly tags: readonly TagRow[];
  readonly names: readonly string[];
  readonly may: boolean;
  readonly onChanged: () => void;
}) {
  const how =
    names.length === 0
      ? 'Select workers, then double-click a tag to add it'
      : `Double-click adds a tag to ${names.length === 1 ? names[0] : plural(names.length, 'worker')}`;
  return (
    <Panel title="Tags" count={tags.length} actions={may && <span className="quiet wide-only">{how}</span>}>
      <datalist id="known-tags">
        {tags.map(({ tag }) => (
          <option key={tag} value={tag} />
        ))}
      </datalist>
      <div className="panel-body tags">
        {tags.length === 0 && (
          <span className="quiet">
            No worker has a tag, and no task asks for one. <code>leasehold worker --tag gpu</code> starts a worker with
            one.
          </span>
        )}
        {tags.map(({ tag, workers, wantedBy }) => {
          const missing = workers === 0 && wantedBy.length > 0;
          const asked = wantedBy.length > 0 ? `; asked for in ${wantedBy.join(', ')}` : '';
          const text = `${tag}: ${missing ? 'no worker has it' : plural(workers, 'worker')}${asked}`;
          const give = (): void => {
            if (may && names.length > 0)
              runAction(() => editWorkers(names, { addTags: [tag] }).then(onChanged), `${names.join(', ')}: ${tag}.`);
          };
          return (
            <button
              key={tag}
              type="button"
              className={`tag ${missing ? 'wanted' : ''}`}
              title={text}
              onDoubleClick={give}
              onKeyDown={(event) => event.key === 'Enter' && give()}
            >
              {missing && <Icon name="failed" size={11} />}
              {tag}
              <span className="quiet">{workers}</span>
            </button>
          );
        })}
      </div>
    </Panel>
  );
}
