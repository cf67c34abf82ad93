#!/bin/sh
# Runs benchdnn with oneDNN beside it, or skips (exit status 77) where nobody fetched it.
#   with_peer.sh SOURCE_DIR BENCHDNN ARGUMENTS...
root=$1 program=$2
shift 2
for peer in "$root"/build/peers/lib/libdnnl.so.3 "$root"/build/peer_onednn/lib/libdnnl.so.3; do
  [ ! -e "$peer" ] || exec "$program" --peer=onednn:"$peer" "$@"
done
echo "skipped: no oneDNN here; scripts/get_peers or scripts/get_peer_onednn brings it"
exit 77
