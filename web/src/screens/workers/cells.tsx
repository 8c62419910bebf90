/** The cells of a worker that can be edited in place: enabled, priority, tags. */

import { type FormEvent, type ReactNode, useState } from 'react';
import { commaList } from '../../model/text.ts';
import { Switch } from '../../ui/fields.tsx';
import { runAction } from '../../ui/toast.tsx';
import { editWorker } from './edit.ts';
import type { Row } from './use-workers.ts';

export function Enabled({
  row,
  may,
  onChanged,
}: {
  readonly row: Row;
  readonly may: boolean;
  readonly onChanged: () => void;
}) {
  const { name, enabled } = row;
  return (
    <Switch
      hideLabel
      label={`${name} takes tasks`}
      checked={enabled}
      disabled={!may}
      onChange={(next) =>
        runAction(
          () => editWorker(name, { enabled: next }).then(onChanged),
          next ? `${name} takes tasks again.` : `${name} takes no more tasks. It finishes what it runs.`,
        )
      }
    />
  );
}

export function Priority({
  row,
  may,
  onChanged,
}: {
  readonly row: Row;
  readonly may: boolean;
  readonly onChanged: () => void;
}) {
  const [text, setText] = useState<string>();
  const shown = row.priority ?? 0;
  if (!may) return <span>{shown}</span>;
  if (text === undefined)
    return (
      <button
        type="button"
        className="priority"
        aria-label={`Priority of ${row.name}: ${shown}. Edit`}
        title="Workers of higher priority get work first"
        onClick={() => setText(String(shown))}
      >
        {shown}
      </button>
    );
  const save = (): void => {
    setText(undefined);
    if (/^-?\d+$/.test(text.trim()) && Number(text) !== shown)
      runAction(() => editWorker(row.name, { priority: Number(text) }).then(onChanged));
  };
  return (
    <input
      className="input"
      style={{ width: 52, minHeight: 24, padding: '0 6px' }}
      autoFocus
      aria-label={`Priority of ${row.name}`}
      inputMode="numeric"
      value={text}
      onChange={(event) => setText(event.target.value)}
      onBlur={save}
      onKeyDown={(event) => {
        if (event.key === 'Enter') save();
        if (event.key === 'Escape') setText(undefined);
      }}
    />
  );
}

/** A double click removes a tag; the button adds one. */
export function Tags({
  row,
  may,
  onChanged,
}: {
  readonly row: Row;
  readonly may: boolean;
  readonly onChanged: () => void;
}) {
  const [adding, setAdding] = useState<string>();
  const remove = (tag: string): void =>
    runAction(
      () => editWorker(row.name, { removeTags: [tag] }).then(onChanged),
      `${tag} is removed from ${row.name}, unless the worker itself brings it.`,
    );
  const add = (event: FormEvent): void => {
    event.preventDefault();
    const tags = commaList(adding ?? '');
    setAdding(undefined);
    if (tags.length > 0)
      runAction(
        () => editWorker(row.name, { addTags: tags }).then(onChanged),
        `${row.name} carries ${tags.join(', ')}.`,
      );
  };
  const start: ReactNode =
    adding === undefined ? (
      <button type="button" className="tag add" aria-label={`Add a tag to ${row.name}`} onClick={() => setAdding('')}>
        +
      </button>
    ) : (
      <form onSubmit={add}>
        <input
          className="input"
          style={{ width: 96, minHeight: 22, padding: '0 6px' }}
          autoFocus
          aria-label={`New tag for ${row.name}`}
          list="known-tags"
          value={adding}
          onChange={(event) => setAdding(event.target.value)}
          onBlur={() => setAdding(undefined)}
          onKeyDown={(event) => event.key === 'Escape' && setAdding(undefined)}
        />
      </form>
    );
  return (
    <span className="tags" style={{ maxHeight: 46, overflow: 'hidden' }}>
      {row.tags.map((tag) =>
        may ? (
          <button
            key={tag}
            type="button"
            className="tag"
            title={`${tag}: double-click to remove it`}
            onDoubleClick={() => remove(tag)}
            onKeyDown={(event) => (event.key === 'Delete' || event.key === 'Backspace') && remove(tag)}
          >
            {tag}
          </button>
        ) : (
          <span key={tag} className="tag">
            {tag}
          </span>
        ),
      )}
      {row.tags.length === 0 && !may && <span className="quiet">–</span>}
      {may && start}
    </span>
  );
}
