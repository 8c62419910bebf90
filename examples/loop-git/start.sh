#!/bin/sh
# Makes a small repository in the folder shop, for the loop to work in.
set -e
cd "$(dirname "$0")"
[ -e shop/.git ] && exit 0
mkdir -p shop
cp plan.md check.sh agent.sh shop/
cd shop
git init --quiet --initial-branch=main
git add .
git -c user.name=example -c user.email=example@localhost commit --quiet --message="Begin"
