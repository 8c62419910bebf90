/** The panel of a JSON value, as a tree that folds or as text. Large values open in parts, so that megabytes do not freeze the page. */

import { useState } from 'react';
import { ExactNumber, prettyJson, previewOf } from '../model/json.ts';
import { CopyButton } from './buttons.tsx';
import { Segmented } from './fields.tsx';

export function JsonView({ value, label }: { readonly value: unknown; readonly label: string }) {
  const [mode, setMode] = useState<'tree' | 'text'>('tree');
  const simple = typeof value !== 'object' || value === null;
  const pretty = mode === 'text' ? prettyJson(value) : '';
  return (
    <section className="panel" aria-label={label}>
      <div className="panel-head">
        <h2>{label}</h2>
        <div className="grow" />
        {!simple && (
          <Segmented
            label={`View of ${label}`}
            options={[
              { value: 'tree', label: 'Tree' },
              { value: 'text', label: 'Text' },
            ]}
            value={mode}
            onChange={setMode}
          />
        )}
        <CopyButton text={() => prettyJson(value)} label={`Copy ${label} as JSON`} />
      </div>
      {mode === 'tree' ? (
        <div className="json" tabIndex={0} role="region" aria-label={`${label}, value`}>
          <Value value={value} depth={0} />
        </div>
      ) : (
        <pre className="json" tabIndex={0}>
          {pretty.length > 500_000 ? `${pretty.slice(0, 500_000)}\n… cut here; the copy has all of it` : pretty}
        </pre>
      )}
    </section>
  );
}

const STEP = 100;

function Value({ value, depth }: { readonly value: unknown; readonly depth: number }) {
  if (value instanceof ExactNumber) return <span className="numb">{value.source}</span>;
  if (typeof value === 'string') return <Text text={value} />;
  if (typeof value === 'number') return <span className="numb">{String(value)}</span>;
  if (typeof value !== 'object' || value === null) return <span className="word">{String(value)}</span>;
  return <Branch value={value} depth={depth} />;
}

function Text({ text }: { readonly text: string }) {
  const [whole, setWhole] = useState(text.length <= 2000);
  return (
    <span className="str">
      {JSON.stringify(whole ? text : text.slice(0, 2000)).replaceAll('\\n', '\n')}
      {!whole && (
        <button type="button" className="fold" onClick={() => setWhole(true)}>
          {' '}
          … {(text.length - 2000).toLocaleString('en')} more
        </button>
      )}
    </span>
  );
}

function Branch({ value, depth }: { readonly value: object; readonly depth: number }) {
  const list = Array.isArray(value);
  const size = list ? value.length : Object.keys(value).length;
  const [open, setOpen] = useState(depth < 3 && size <= STEP);
  const [shown, setShown] = useState(STEP);
  if (size === 0) return <span className="quiet">{list ? '[]' : '{}'}</span>;
  const fold = (
    <button type="button" className="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
      {open ? (list ? `▾ [${size}]` : '▾ {}') : `▸ ${previewOf(value, 60)}`}
    </button>
  );
  if (!open) return fold;
  const entries: readonly (readonly [string, unknown])[] = list
    ? value.slice(0, shown).map((one, i) => [String(i), one] as const)
    : Object.entries(value).slice(0, shown);
  return (
    <>
      {fold}
      <ul>
        {entries.map(([key, one]) => (
          <li key={key}>
            <span className="key">{key}: </span>
            <Value value={one} depth={depth + 1} />
          </li>
        ))}
        {size > shown && (
          <li>
            <button type="button" className="fold" onClick={() => setShown(shown + 10 * STEP)}>
              … {size - shown} more
            </button>
          </li>
        )}
      </ul>
    </>
  );
}
