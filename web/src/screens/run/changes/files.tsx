/** The files that a run has changed, with their lines. Everything is text, whatever stands in it. */

import { memo, useMemo, useState } from 'react';
import {
  type ChangedFile,
  LINES_AT_ONCE,
  openAtFirst,
  type PatchLine,
  patchLines,
} from '../../../model/changes/diff.ts';
import { plural } from '../../../model/text.ts';
import { Button } from '../../../ui/buttons.tsx';
import { Icon } from '../../../ui/icon.tsx';
import { Counts } from './counts.tsx';

const FIRST = 50;

export function ChangedFiles({ of: files }: { readonly of: readonly ChangedFile[] }) {
  const first = useMemo(() => openAtFirst(files), [files]);
  const [most, setMost] = useState(FIRST);
  if (files.length === 0) return <p className="panel-body quiet">No file is different.</p>;
  return (
    <>
      {files.slice(0, most).map((file, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place; a path that somebody says may come twice.
        <OneFile key={`${i} ${file.path}`} of={file} isOpen={first.has(file.path)} />
      ))}
      {files.length > most && (
        <div className="panel-body change-line">
          <Button small kind="plain" onClick={() => setMost(most + 4 * FIRST)}>
            {plural(files.length - most, 'more file')}
          </Button>
        </div>
      )}
    </>
  );
}

function OneFile({ of: file, isOpen }: { readonly of: ChangedFile; readonly isOpen: boolean }) {
  const [open, setOpen] = useState(isOpen);
  const { path, oldPath, status } = file;
  return (
    <section className="change-file" aria-label={path}>
      <button type="button" className="change-head" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? 'down' : 'right'} size={12} />
        <bdi className="mono break grow">
          {oldPath !== undefined && <span className="quiet">{oldPath} → </span>}
          {path}
        </bdi>
        <span className="quiet">{status}</span>
        <Counts of={file} />
      </button>
      {open && <Lines patch={file.patch} />}
    </section>
  );
}

function Lines({ patch }: { readonly patch: string }) {
  const lines = useMemo(() => patchLines(patch), [patch]);
  const [most, setMost] = useState(LINES_AT_ONCE);
  if (lines.length === 0) return <p className="panel-body quiet">No line of it is told.</p>;
  return (
    <>
      {/* Keyboards must be able to scroll what is too long. */}
      <div className="change-lines" tabIndex={0} role="region" aria-label="Lines">
        {lines.slice(0, most).map((line, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place.
          <Line key={i} of={line} />
        ))}
      </div>
      {lines.length > most && (
        <div className="panel-body change-line">
          <Button small kind="plain" onClick={() => setMost(most + LINES_AT_ONCE)}>
            {plural(lines.length - most, 'more line')}
          </Button>
        </div>
      )}
    </>
  );
}

const SIGNS = { hunk: '', add: '+', delete: '−', same: ' ', note: '' } as const;

const Line = memo(function Line({ of: { kind, text, before, after } }: { readonly of: PatchLine }) {
  return (
    <div className={`change ${kind}`}>
      <span aria-hidden="true">{before ?? ''}</span>
      <span aria-hidden="true">{after ?? ''}</span>
      <i>{SIGNS[kind]}</i>
      <code dir="auto">{text}</code>
    </div>
  );
});
