/** One node of a graph, near enough to be read. */

import { memo } from 'react';
import { NODE_HEIGHT, NODE_WIDTH } from '../../../model/run/graph/layout.ts';
import { Icon, StateGlyph } from '../../../ui/icon.tsx';

export const nodeDomId = (i: number): string => `node-${i}`;

export const NodeBox = memo(function NodeBox({
  index,
  all,
  x,
  y,
  name,
  tone,
  word,
  caption,
  progress,
  pinned,
  perItem,
  selected,
  onSelect,
  onHover,
}: {
  readonly index: number;
  readonly all: number;
  readonly x: number;
  readonly y: number;
  readonly name: string;
  readonly tone: string;
  readonly word: string;
  readonly caption: string;
  readonly progress: number | undefined;
  readonly pinned: boolean;
  readonly perItem: boolean;
  readonly selected: boolean;
  readonly onSelect: (i: number) => void;
  readonly onHover: (i: number | undefined) => void;
}) {
  return (
    <div
      id={nodeDomId(index)}
      role="option"
      aria-selected={selected}
      aria-setsize={all}
      aria-posinset={index + 1}
      className={`gnode s-${tone} n-${word.replaceAll(' ', '-')} ${selected ? 'selected' : ''} ${perItem ? 'many' : ''}`}
      style={{ width: NODE_WIDTH, height: NODE_HEIGHT, transform: `translate(${x}px, ${y}px)` }}
      onClick={() => onSelect(index)}
      onMouseEnter={() => onHover(index)}
      onMouseLeave={() => onHover(undefined)}
    >
      <span className="gnode-glyph">
        <StateGlyph state={tone} />
      </span>
      <span className="gnode-text">
        <b className="cut">{name}</b>
        <span className="sr">
          , {word}
          {pinned ? ', pinned' : ''},{' '}
        </span>
        <span className="cut">{caption}</span>
      </span>
      {pinned && (
        <span className="gnode-pin" title="Its output is pinned">
          <Icon name="bookmark" size={12} />
        </span>
      )}
      {progress !== undefined && <i className="gnode-progress" style={{ width: `${progress * 100}%` }} />}
    </div>
  );
});
