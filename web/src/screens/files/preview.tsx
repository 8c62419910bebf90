/** The panel that shows an artifact: a text as text, JSON as a tree, a picture. Nothing of it is ever taken for markup. */

import { useState } from 'react';
import type { Artifact } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { plainText } from '../../model/ansi.ts';
import { jsonOfText, MOST_TEXT, previewOfFile } from '../../model/files/preview.ts';
import { baseName, sizeText } from '../../model/files/words.ts';
import { CopyButton } from '../../ui/buttons.tsx';
import { JsonView } from '../../ui/json-view.tsx';
import { Panel } from '../../ui/layout.tsx';
import { WhenLoaded } from '../../ui/states.tsx';
import { type Beginning, inlinePath, readBeginning } from './content.ts';

export function FilePreview({ of: artifact }: { readonly of: Artifact }) {
  const preview = previewOfFile(artifact);
  switch (preview.as) {
    case 'nothing':
      return <NoPreview why={preview.why} />;
    case 'picture':
      return <Picture of={artifact} />;
    case 'text':
    case 'json':
      return <TextPreview of={artifact} as={preview.as} />;
  }
}

function NoPreview({ why }: { readonly why: string }) {
  return (
    <Panel title="Preview">
      <div className="panel-body quiet">{why}</div>
    </Panel>
  );
}

function Picture({ of: { id, name } }: { readonly of: Artifact }) {
  const [broken, setBroken] = useState(false);
  if (broken) return <NoPreview why="These bytes are no picture that the browser can show." />;
  return (
    <Panel title="Preview">
      <div className="panel-body file-picture">
        <img src={inlinePath(id)} alt={baseName(name)} decoding="async" onError={() => setBroken(true)} />
      </div>
    </Panel>
  );
}

function TextPreview({ of: { id, size }, as }: { readonly of: Artifact; readonly as: 'text' | 'json' }) {
  // Its bytes never change: it is read once.
  const beginning = useResource(`bytes of ${id}`, (signal) => readBeginning(id, size, signal));
  return (
    <WhenLoaded of={beginning} rows={3}>
      {(shown) => <Shown of={shown} size={size} as={as} />}
    </WhenLoaded>
  );
}

function Shown({
  of: { text, isCut },
  size,
  as,
}: {
  readonly of: Beginning;
  readonly size: number;
  readonly as: 'text' | 'json';
}) {
  const json = as === 'json' && !isCut ? jsonOfText(text) : undefined;
  if (json !== undefined) return <JsonView value={json.value} label="Preview" />;
  return (
    <Panel title="Preview" actions={<CopyButton text={text} label="Copy what is shown" />}>
      {isCut && (
        <p className="panel-body quiet file-cut">
          The first {sizeText(MOST_TEXT)} of {sizeText(size)}. Download it for the rest.
        </p>
      )}
      {as === 'json' && !isCut && (
        <p className="panel-body quiet file-cut">This is no JSON that can be shown as a tree.</p>
      )}
      {/* Keyboards must be able to scroll what is too long. */}
      <pre className="file-text" tabIndex={0} aria-label="Text of the artifact">
        {plainText(text)}
      </pre>
    </Panel>
  );
}
